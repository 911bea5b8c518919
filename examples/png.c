/* PNG: a signature and chunks: IHDR (size and format), IDAT (the rows as a zlib stream), IEND. The
 * stream here consists of deflate's stored blocks, which hold bytes as they are. */
#include "png.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  stored_bytes_max = 65535, /* in one stored block */
  stored_header_bytes = 5,
  zlib_header_bytes = 2,
  checksum_bytes = 4,
  bytes_per_pixel = 3,
};

static unsigned char* put_u32(unsigned char* out, uint32_t value) { /* big-endian */
  for (int shift = 24; shift >= 0; shift -= 8) *out++ = (unsigned char)(value >> shift);
  return out;
}

/* CRC-32 of a chunk's name and data. */
static uint32_t crc32_update(uint32_t crc, const unsigned char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
  }
  return crc;
}

static uint32_t adler32(const unsigned char* bytes, size_t count) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < count; ++i) {
    a = (a + bytes[i]) % 65521;
    b = (b + a) % 65521;
  }
  return (b << 16) | a;
}

/* True if all of it was written. */
static int write_chunk(FILE* file, const char name[4], const unsigned char* data, size_t count) {
  unsigned char head[8], tail[4];
  memcpy(put_u32(head, (uint32_t)count), name, 4);
  const uint32_t crc = crc32_update(crc32_update(0xffffffffU, head + 4, 4), data, count);
  put_u32(tail, crc ^ 0xffffffffU);
  return fwrite(head, 1, sizeof head, file) == sizeof head &&
         fwrite(data, 1, count, file) == count && fwrite(tail, 1, sizeof tail, file) == sizeof tail;
}

/* Every row begins with the number of its filter: 0, none. */
static void put_rows(unsigned char* out, int width, int height, const unsigned char* rgb) {
  const size_t row_bytes = (size_t)width * bytes_per_pixel;
  for (int y = 0; y < height; ++y) {
    *out++ = 0;
    memcpy(out, rgb + (size_t)y * row_bytes, row_bytes);
    out += row_bytes;
  }
}

/* DATA as a zlib stream at OUT, whose end is returned. */
static unsigned char* put_stream(unsigned char* out, const unsigned char* data, size_t count) {
  *out++ = 0x78; /* deflate with a window of 32 KiB */
  *out++ = 0x01; /* no dictionary; makes the two a multiple of 31 */
  size_t done = 0;
  do {
    const size_t left = count - done;
    const size_t length = left < stored_bytes_max ? left : stored_bytes_max;
    *out++ = length == left; /* the last block? */
    *out++ = (unsigned char)(length & 0xff);
    *out++ = (unsigned char)(length >> 8);
    *out++ = (unsigned char)(~length & 0xff);
    *out++ = (unsigned char)((~length >> 8) & 0xff);
    memcpy(out, data + done, length);
    out += length;
    done += length;
  } while (done < count);
  return put_u32(out, adler32(data, count));
}

static int write_file(FILE* file, int width, int height, const unsigned char* stream,
                      size_t stream_bytes) {
  static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  unsigned char header[13] = {0};
  put_u32(put_u32(header, (uint32_t)width), (uint32_t)height);
  header[8] = 8; /* bits per colour */
  header[9] = 2; /* red, green, blue */
  return fwrite(signature, 1, sizeof signature, file) == sizeof signature &&
         write_chunk(file, "IHDR", header, sizeof header) &&
         write_chunk(file, "IDAT", stream, stream_bytes) && write_chunk(file, "IEND", header, 0);
}

int png_write(const char* path, int width, int height, const unsigned char* rgb) {
  const size_t rows_bytes = (size_t)height * ((size_t)width * bytes_per_pixel + 1);
  const size_t blocks = rows_bytes / stored_bytes_max + 1;
  const size_t stream_bytes_max =
      zlib_header_bytes + blocks * stored_header_bytes + rows_bytes + checksum_bytes;
  if (stream_bytes_max > INT32_MAX) { /* the largest chunk */
    errno = EFBIG;
    return -1;
  }
  unsigned char* rows = malloc(rows_bytes);
  unsigned char* stream = malloc(stream_bytes_max);
  FILE* file = rows != NULL && stream != NULL ? fopen(path, "wb") : NULL;
  int written = 0;
  if (file != NULL) {
    put_rows(rows, width, height, rgb);
    const size_t stream_bytes = (size_t)(put_stream(stream, rows, rows_bytes) - stream);
    written = write_file(file, width, height, stream, stream_bytes);
    written = fclose(file) == 0 && written;
  }
  free(stream);
  free(rows);
  return written ? 0 : -1;
}
