// Binary128: IEEE 754 quadruple precision, under whatever name this compiler has for it.
#pragma once

namespace hawser::core {

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Binary128;
#else
using Binary128 = long double;
#endif
static_assert(sizeof(Binary128) == 16);

}  // namespace hawser::core
