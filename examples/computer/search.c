/* Breadth-first search. All cores take nodes of the frontier, and append those that they are the
 * first to reach to the next one. */
#include "multicube.h"

#ifndef N
#define N 64
#endif
#define DEGREE 3

volatile int reached[N], distance[N];
volatile int frontiers[2][N], sizes[2], taken[2];

static int neighbour(int node, int which) {
  static const int factors[DEGREE] = {5, 3, 9}, offsets[DEGREE] = {1, 7, 30};
  return (node * factors[which] + offsets[which]) % N;
}

int main(void) {
  if (mc_id() == 0) {
    reached[0] = 1;
    sizes[0] = 1;
  }
  mc_barrier();
  for (int level = 1, now = 0; sizes[now] > 0; level++, now ^= 1) {
    for (int at; (at = mc_fetch_add(&taken[now], 1)) < sizes[now];) {
      int node = frontiers[now][at];
      for (int which = 0; which < DEGREE; which++) {
        int next = neighbour(node, which);
        if (mc_swap(&reached[next], 1) == 0) {
          distance[next] = level;
          frontiers[!now][mc_fetch_add(&sizes[!now], 1)] = next;
        }
      }
    }
    mc_barrier();
    if (mc_id() == 0) {
      sizes[now] = 0;
      taken[now] = 0;
    }
    mc_barrier();
  }
  return 0;
}
