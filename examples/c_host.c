/* A host in C: random traffic through a network that was exported as a library.

   The payload of a packet is the cycle in which it was offered. Any network of packets of one flit
   will do, if its payload has 32 bits:

       multicube export cube ports=64 payload=32 --c cube64
       gcc -O2 -march=native -Icube64 examples/c_host.c cube64/mc.c cube64/mc_0.c -o host
       ./host 0.3 10000
*/

#include <stdio.h>
#include <stdlib.h>

#include "mc.h"

enum { PATIENCE = 100000 /* cycles in which the last packets must arrive */ };

/* Marsaglia's xorshift, from 0 to 1. */
static double draw(void) {
  static uint64_t x = 88172645463325252;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return (double)(x >> 11) / 9007199254740992.0;
}

static int checked(int code) {
  if (code < 0) {
    fprintf(stderr, "%s\n", mc_text(code));
    exit(1);
  }
  return code;
}

int main(int argc, char **argv) {
  const double load = argc > 1 ? atof(argv[1]) : 0.3;
  const long cycles = argc > 2 ? atol(argv[2]) : 10000;
  mc_network *network = mc_create();
  if (!network) return 1;
  if (MC_LONGEST > 1) {
    fprintf(stderr, "the packets of this network have several flits, and here one: length=1\n");
    return 1;
  }
  long sent = 0, arrived = 0;
  double waited = 0;
  while (mc_cycle(network) < (uint64_t)cycles || arrived < sent) {
    const uint64_t now = mc_cycle(network);
    if (now > (uint64_t)cycles + PATIENCE) {
      fprintf(stderr, "%ld of %ld packets were lost\n", sent - arrived, sent);
      return 1;
    }
    for (int source = 0; source < MC_SOURCES && now < (uint64_t)cycles; source++) {
      if (draw() >= load || checked(mc_busy(network, source))) continue;
      mc_flit flit = {0};
      checked(mc_tag(source, (int)(draw() * MC_SINKS), &flit.tag));
      flit.payload = now;
      checked(mc_offer(network, source, &flit));
      sent++;
    }
    checked(mc_step(network, 1));
    for (int sink = 0; sink < MC_SINKS; sink++) {
      mc_flit flit;
      if (checked(mc_take(network, sink, &flit))) continue;
      waited += (double)(mc_cycle(network) - flit.payload);
      arrived++;
    }
  }
  printf("%ld packets sent, %ld arrived: %.4f per cycle and source, mean latency %.2f cycles\n",
         sent, arrived, (double)sent / (double)cycles / MC_SOURCES, waited / (double)arrived);
  mc_destroy(network);
  return 0;
}
