"""The C that lets clocks run while nobody looks."""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from ..engines.compiled.c_structures import c_fields
from ..engines.compiled.emit_c import STRUCTURES

__all__ = ["FOREVER", "FREE_RUN", "CClock", "CRun", "Call", "Calls"]

FOREVER = (1 << 63) - 1
"""A time, and a number of edges, that is never reached."""


FREE_RUN = (
    STRUCTURES
    + """
typedef struct {
  void (*function)(Context *, const Type *, long begin, long end);
  Context *context;
  const Type *type;
  long begin, end;
} Call;

typedef struct {
  const Call *calls;
  long count;
} Calls;

void call(const Calls *all) {
  for (const Call *k = all->calls; k < all->calls + all->count; k++)
    k->function(k->context, k->type, k->begin, k->end);
}

typedef struct {
  int64_t due, half;
  uint32_t *level;  /* in the state: all ones or zeros; or null */
  long lanes, vectors, distance; /* of the same level in several runs */
  long rise, fall;  /* the edges that it makes, as bits */
  long passes[2];   /* falling and rising edges until somebody waits for one */
  uint32_t own_level;
} Clock;

typedef struct {
  const Calls **updates; /* by bits of the edges that occur */
  Clock *clocks;
  long clock_count;
  int64_t limit;
  int64_t now;      /* the last time at which something changed */
  long steps;
  const Calls *alarms; /* stop before what makes one of these words 1 */
  const uint32_t *alarm_words, *alarm_live;
  long alarm_count;
  long at_once; /* before what makes no edge as well */
  const Calls *edges; /* stop after what changes one of these */
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
      call(r->alarms);
      for (long w = 0; w < r->alarm_count; w++)
        if (r->alarm_words[w] & r->alarm_live[w]) return STOPPED;
    }
    for (Clock *k = r->clocks; k < r->clocks + r->clock_count; k++) {
      if (k->due != now) continue;
      uint32_t *level = k->level ? k->level : &k->own_level;
      k->passes[!*level]--;
      const uint32_t after = ~*level;
      for (long v = 0; v < k->vectors; v++)
        for (long l = 0; l < k->lanes; l++) level[v * k->distance + l] = after;
      k->due += k->half;
    }
    r->now = now;
    if (edges) call(r->updates[edges]);
    if (r->edge_count) {
      call(r->edges);
      for (long w = 0; w < r->edge_count; w++)
        if (r->edge_words[w] != r->edge_old[w]) return STOPPED;
    }
  }
  return BECAUSE(MORE);
}
"""
)
"""The C program: `free_run` lets clocks run until somebody must be asked; `call` makes calls."""


class CClock(ctypes.Structure):
    """A clock: when it changes next, and how often it may before somebody else must be asked.

    `passes` are numbers of falling and of rising edges.
    """

    _fields_ = c_fields("Clock", FREE_RUN)


class CRun(ctypes.Structure):
    """How clocks run; see `Run` in the C program."""

    _fields_ = c_fields("Run", FREE_RUN)


class _CCall(ctypes.Structure):
    _fields_ = c_fields("Call", FREE_RUN)


class _CCalls(ctypes.Structure):
    _fields_ = c_fields("Calls", FREE_RUN)


class Call(NamedTuple):
    """A compiled function, and the cells for which it is called."""

    function: int
    context: int
    type: int
    begin: int
    end: int


class Calls:
    """Calls of compiled functions, in order.

    Attributes
    ----------
    address : int
        Where the C program finds them.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = (_CCall * len(calls))(*(_CCall(*each) for each in calls))
        self._all = _CCalls(ctypes.addressof(self._calls), len(calls))
        self.address = ctypes.addressof(self._all)
