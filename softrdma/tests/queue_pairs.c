/* Prints how many bytes of memory each of 10,000 RC queue pairs takes, with its queues, which have
 * room for one work request of one entry. */
#include <infiniband/verbs.h>
#include <stdio.h>

enum { count = 10000 };

static double memory_bytes(void) {
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long kilobytes = 0;
  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    if (sscanf(line, "Pss: %ld", &kilobytes) == 1) break;
  if (file != NULL) fclose(file);
  return (double)kilobytes * 1024;
}

int main(void) {
  struct ibv_device** const list = ibv_get_device_list(NULL);
  struct ibv_context* const context = list == NULL ? NULL : ibv_open_device(list[0]);
  struct ibv_pd* const domain = context == NULL ? NULL : ibv_alloc_pd(context);
  struct ibv_cq* const completions =
      domain == NULL ? NULL : ibv_create_cq(context, 16, NULL, NULL, 0);
  if (completions == NULL) return 1;
  const double before = memory_bytes();
  for (int i = 0; i < count; ++i) {
    struct ibv_qp_init_attr attributes = {
        .send_cq = completions,
        .recv_cq = completions,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    if (ibv_create_qp(domain, &attributes) == NULL) return 1;
  }
  printf("%.0f\n", (memory_bytes() - before) / count);
  return 0;
}
