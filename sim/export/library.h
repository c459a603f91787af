/* $title
   as a library in C, written by multicube $version. It is the hardware itself, cycle by cycle.

   $packets Each source has a register
   for a flit that enters the network, each sink one for a flit that has left it. The host fills
   and empties them between cycles:

   - mc_offer fills the register of a source, if it is empty.
   - mc_step is a cycle: the network takes a flit from each source if it can, and puts one into a
     sink's register if it is empty.
   - mc_take empties the register of a sink, if a flit is there.

   A flit that is taken in each cycle leaves in each cycle. Where the host does not take it, those
   behind it wait in the network.

   An instance is used by one thread at a time; different instances need no care. Nothing is
   printed, and nothing exits: what can fail returns a code, 0 if all is well. */

#ifndef MC_H
#define MC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MC_SOURCES = $sources, /* terminals that send: 0 to MC_SOURCES - 1 */
  MC_SINKS = $sinks, /* terminals that receive */
  MC_LONGEST = $longest, /* flits of the longest packet */
  MC_FLIT_BITS = $bits, /* width of a link */
  MC_FLIT_WORDS = $words /* words of 32 bits that have room for it */
};

/* What a link carries in a cycle.$about Fields of up to 64 bits are numbers; wider ones have their
   lowest 64 bits first. */
typedef struct {
$members} mc_flit;

/* Codes. */
enum {
  MC_OK = 0,
  MC_BUSY = 1, /* the source still has a flit that has not entered */
  MC_EMPTY = 2, /* there is no flit at the sink */
  MC_NULL = -1, /* a pointer is null */
  MC_NO_TERMINAL = -2, /* there is no such source or sink */
  MC_TOO_WIDE = -3, /* a field of the flit does not fit its width */
  MC_BAD_STATE = -4, /* the state is damaged, or of another network */
  MC_ASSERTION = -5 /* an assertion of the hardware failed: only a reset helps */
};

/* The meaning of a code, in a few words. */
const char *mc_text(int code);

typedef struct mc_network mc_network;

/* A network as it is after a reset; null if there is no memory for it. */
mc_network *mc_create(void);
void mc_destroy(mc_network *network);

/* Make it as it was when it was new. Flits in it and in the registers are lost. */
int mc_reset(mc_network *network);

/* The tag with which a packet goes from a source to a sink.$tags */
int mc_tag(int source, int sink, uint64_t *tag);

/* Fill the register of a source: MC_BUSY if it is full, and the flit is not taken. */
int mc_offer(mc_network *network, int source, const mc_flit *flit);

/* Whether the register of a source is full: MC_BUSY, else MC_OK. */
int mc_busy(const mc_network *network, int source);

/* Advance by some cycles. Registers that the host does not fill or empty stay as they become. */
int mc_step(mc_network *network, uint64_t cycles);

/* Empty the register of a sink: MC_EMPTY if there is no flit, and `flit` is unchanged. */
int mc_take(mc_network *network, int sink, mc_flit *flit);

/* The same with the bits of a link, in words of 32 bits, the lowest first; bits above are ignored
   or 0. They are those of the ports of the network's Verilog, and what DPI-C passes. */
int mc_offer_bits(mc_network *network, int source, const uint32_t *bits);
int mc_take_bits(mc_network *network, int sink, uint32_t *bits);

/* Cycles since it was new. */
uint64_t mc_cycle(const mc_network *network);

/* The whole state, in so many bytes, for the very same library on the same kind of machine.
   MC_BAD_STATE is returned if `bytes` are too few, or what is there is not a state of this network;
   then nothing has changed. Damage is found, but not what somebody has forged. */
size_t mc_state_bytes(void);
int mc_save(const mc_network *network, void *state, size_t bytes);
int mc_restore(mc_network *network, const void *state, size_t bytes);

/* A further network in the same state, null if there is no memory for it. From then on each goes
   its own way. It is how SystemVerilog saves and restores: keep a copy, and go on with copies. */
mc_network *mc_copy(const mc_network *network);

#ifdef __cplusplus
}
#endif

#endif
