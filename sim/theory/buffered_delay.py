"""The delay of buffered multistage networks: equation (3) (Siegel et al. 1989, section VI).

Every function is for uniform traffic, where each packet goes to any output with equal
probability. p is the load in packets per terminal per cycle, k the radix of the switches, and
c the length of a packet in cycles. Waiting times and delays are in cycles. Where k may be several
numbers, they are the radices of the stages, in the order in which a packet meets them.
"""

from ...hdl.fabric.errors import InvalidValue
from .unbuffered_bandwidth import Radix, each_radix

__all__ = ["buffered_delay", "first_stage_waiting", "later_stage_waiting", "serial_delay"]


def _check_traffic(p: float, c: float) -> None:
    if not 0 <= p <= 1:
        raise InvalidValue(f"Load p must be from 0 to 1, not {p}")
    if not c >= 1:
        raise InvalidValue(f"Length c of a packet must be at least 1 cycle, not {c}")
    if c * p >= 1:
        raise InvalidValue(f"Traffic intensity c*p must be below 1, not {c * p}")


def first_stage_waiting(p: float, k: int, c: float = 1) -> float:
    """Mean waiting time at a queue of the first stage, eq. (3): (c - 1/k) c p / 2 (1 - c p).

    Exact for unlimited output queues that get each packet in one cycle. For k = 1 it is the waiting
    of packets in a source that sends one flit per cycle.

    Raises
    ------
    ValueError
        If c p, the traffic intensity, is not from 0 to below 1.
    """
    _check_traffic(p, c)
    return (c - 1 / k) * c * p / (2 * (1 - c * p))


def later_stage_waiting(p: float, k: int, c: float = 1) -> float:
    """Mean waiting time at a queue of a later stage.

    It is (1 + 4 c p / 5 k) c (1 - 1/k) c p / 2 (1 - c p): the approximation below eq. (3), which
    prints (c - 1/k) in the place of c (1 - 1/k). For c = 1 both are the same. For c > 1 the printed
    one is too high, for large c by the factor k / (k - 1). It is probably a misprint: the two parts
    of eq. (3) are

        (c - 1/k) = c (1 - 1/k) + (c - 1) / k.

    The first is the waiting for packets of the other k - 1 inputs. The second is the waiting for
    packets of the same input that came fewer than c cycles ago (1/k of what eq. (3) gives for
    k = 1). In a later stage there are none, since a line takes c cycles to bring a packet. What
    remains is c times the waiting of single packets at the same traffic c p, as if cycles were c
    times longer.

    It is the limit for a stage deep in the network: packets that leave earlier stages are not
    independent, and wait for each other longer. A queueing model of the network
    (tests/test_statistics.py, c = 1) shows its accuracy. Deep in the network and at loads up to 0.7
    the formula is too high by at most 1.3 % for k = 2 and 2.6 % for k = 4. The second stage has
    about 0.6 (k = 2) or 0.7 (k = 4) of the excess over the first, so for few stages the sum is up
    to 5 % too large, and the latency up to 2 %. For c from 2 to 16 and c p up to 0.7 it is within
    5 % in every stage (tests/test_long_packets.py).
    """
    _check_traffic(p, c)
    return (1 + 4 * c * p / (5 * k)) * c * (1 - 1 / k) * c * p / (2 * (1 - c * p))


def buffered_delay(
    p: float, k: Radix, stages: int, c: float = 1, *, cut_through: bool = True
) -> float:
    """Mean delay through a network of output-queued switches (VI-D).

    The sum of the waiting times at all stages and the service time, which is `stages` + c - 1
    cycles with cut-through, and `stages` times c with store-and-forward. For c = 1 they are equal.
    As in the paper, a source puts a whole packet into the first switch in one cycle.
    """
    first, *later = each_radix(k, stages, 1)
    waiting = first_stage_waiting(p, first, c)
    waiting += sum(later_stage_waiting(p, radix, c) for radix in later)
    return waiting + (stages + c - 1 if cut_through else stages * c)


def serial_delay(
    p: float, k: Radix, stages: int, c: float = 1, *, cut_through: bool = True
) -> float:
    """Mean latency if a source sends one flit per cycle, as hardware does.

    Packets wait in the source until those before them are sent: by eq. (3) with k = 1, which is
    exact. So the first stage, like the others, gets packets from lines that bring one flit per
    cycle, and if c > 1 the waiting is that of a later stage. For c = 1 it is `buffered_delay`.
    """
    if c == 1:
        return buffered_delay(p, k, stages)
    waiting = sum(later_stage_waiting(p, radix, c) for radix in each_radix(k, stages))
    service = stages + c - 1 if cut_through else stages * c
    return first_stage_waiting(p, 1, c) + waiting + service
