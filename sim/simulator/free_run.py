"""The C that lets clocks run while nobody looks."""

import ctypes

from ..engines.compiled.emit_c import STRUCTURES

__all__ = ["FOREVER", "FREE_RUN", "CClock"]

FOREVER = (1 << 63) - 1
"""A time, and a number of edges, that is never reached."""


class CClock(ctypes.Structure):
    """A clock: when it changes next, and how often it may before somebody else must be asked.

    `passes` are numbers of falling and of rising edges.
    """

    _fields_ = [
        ("due", ctypes.c_int64),
        ("half", ctypes.c_int64),
        ("level", ctypes.c_void_p),
        ("rise", ctypes.c_long),
        ("fall", ctypes.c_long),
        ("passes", ctypes.c_long * 2),
        ("own_level", ctypes.c_uint32),
    ]


FREE_RUN = (
    STRUCTURES
    + """
typedef void (*Function)(Context *, const Type *, long begin, long end);

typedef struct {
  int64_t due, half;
  uint32_t *level;  /* in the state: all ones or zeros; or null */
  long rise, fall;  /* the edges that it makes, as bits */
  long passes[2];   /* falling and rising edges until somebody waits for one */
  uint32_t own_level;
} Clock;

typedef struct {
  Context *context;
  const Type *type;
  Function *updates; /* by bits of the edges that occur */
  Clock *clocks;
  long clock_count;
  int64_t limit;
  int64_t now;      /* the last time at which something changed */
  long steps;
  Function alarms; /* stop before what makes one of these words 1 */
  Context *alarm_context;
  const uint32_t *alarm_words;
  long alarm_count;
  long at_once; /* before what makes no edge as well */
  Function edges; /* stop after what changes one of these */
  Context *edge_context;
  const uint32_t *edge_words;
  const uint32_t *edge_old;
  long edge_count;
} Run;

enum { STOPPED, MISSING, MORE };
#define BECAUSE(why) ((long)(why) << 32)

long free_run(Run *r) {
  for (long step = 0; step < r->steps; step++) {
    int64_t now = INT64_MAX;
    for (Clock *k = r->clocks; k < r->clocks + r->clock_count; k++)
      if (k->due < now) now = k->due;
    if (now >= r->limit) return STOPPED;
    long edges = 0;
    for (Clock *k = r->clocks; k < r->clocks + r->clock_count; k++) {
      if (k->due != now) continue;
      const int rises = !*(k->level ? k->level : &k->own_level);
      if (!k->passes[rises]) return STOPPED;
      edges |= rises ? k->rise : k->fall;
    }
    if (edges && !r->updates[edges]) return BECAUSE(MISSING) | edges;
    if ((edges || r->at_once) && r->alarm_count) {
      r->alarms(r->alarm_context, r->type, 0, 1);
      for (long w = 0; w < r->alarm_count; w++)
        if (r->alarm_words[w]) return STOPPED;
    }
    for (Clock *k = r->clocks; k < r->clocks + r->clock_count; k++) {
      if (k->due != now) continue;
      uint32_t *level = k->level ? k->level : &k->own_level;
      k->passes[!*level]--;
      *level = ~*level;
      k->due += k->half;
    }
    r->now = now;
    if (edges) r->updates[edges](r->context, r->type, 0, 1);
    if (r->edge_count) {
      r->edges(r->edge_context, r->type, 0, 1);
      for (long w = 0; w < r->edge_count; w++)
        if (r->edge_words[w] != r->edge_old[w]) return STOPPED;
    }
  }
  return BECAUSE(MORE);
}
"""
)
"""The C program: `free_run` lets clocks run until somebody must be asked."""
