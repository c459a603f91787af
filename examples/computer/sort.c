/* Bitonic sort: in each step all cores compare and exchange pairs, and wait for each other. */
#include "multicube.h"

#ifndef N
#define N 64 /* a power of two */
#endif

int words[N];

int main(void) {
  for (int i = mc_id(); i < N; i += mc_count()) {
    words[i] = (int)(i * 2654435761u);
  }
  for (int size = 2; size <= N; size *= 2) {
    for (int apart = size / 2; apart > 0; apart /= 2) {
      mc_barrier();
      for (int pair = mc_id(); pair < N / 2; pair += mc_count()) {
        int low = pair / apart * 2 * apart + pair % apart;
        int a = words[low], b = words[low + apart];
        int up = (low & size) == 0;
        if ((a > b) == up) {
          words[low] = b;
          words[low + apart] = a;
        }
      }
    }
  }
  return 0;
}
