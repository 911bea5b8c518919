// The program of hello.c as C++.
#include "hello.c"
