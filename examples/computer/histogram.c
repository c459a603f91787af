/* A histogram of words of which most are the same: all cores add 1 to one word. Where requests
 * combine, they meet in the network, and few come to the memory. */
#include "multicube.h"

#ifndef EACH
#define EACH 32 /* words of each core */
#endif

volatile int bins[8];

int main(void) {
  unsigned state = 2 * mc_id() + 1;
  for (int i = 0; i < EACH; i++) {
    state = state * 1664525 + 1013904223;
    unsigned drawn = state >> 24;
    mc_fetch_add(&bins[drawn < 224 ? 0 : drawn & 7], 1);
  }
  return 0;
}
