"""AXI4 (Arm IHI 0022)."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..operations.bus_operations import check_data_bits

__all__ = ["Axi"]


class Axi(wiring.Signature):
    """An AXI4 bus, as a manager sees it. The names are those of the standard.

    The signals that a memory has no use for are left out: lock, cache, prot, qos, region, and
    `user` but in requests to write.

    Parameters
    ----------
    address : int
        Width of an address in bits; addresses count bytes.
    data : int
        Width of the data: 8, 16, 32 or 64 bits.
    ids : int
        Width of an identity in bits, at least 1.
    atomics : bool
        Whether there is `awatop`, of AXI5.
    user : int
        Width of `awuser` in bits; 0 for none.

    Members
    -------
    awid, awaddr, awlen, awsize, awburst, awatop, awuser, awvalid : Out
    awready : In(1)
    wdata, wstrb, wlast, wvalid : Out
    wready : In(1)
    bid, bresp, bvalid : In
    bready : Out(1)
    arid, araddr, arlen, arsize, arburst, arvalid : Out
    arready : In(1)
    rid, rdata, rresp, rlast, rvalid : In
    rready : Out(1)
    """

    def __init__(
        self, *, address: int, data: int, ids: int = 4, atomics: bool = False, user: int = 0
    ) -> None:
        self.address = address
        self.data = check_data_bits(data)
        self.ids = check_integer("Identity bits", ids, 1, 32)
        self.atomics = atomics
        self.user = check_integer("User bits", user, 0)

        def address_channel(name: str) -> dict[str, wiring.Member]:
            atop = {"awatop": Out(6)} if atomics and name == "aw" else {}
            mask = {"awuser": Out(user)} if user and name == "aw" else {}
            return {
                f"{name}id": Out(ids),
                f"{name}addr": Out(address),
                f"{name}len": Out(8),
                f"{name}size": Out(3),
                f"{name}burst": Out(2),
                **atop,
                **mask,
                f"{name}valid": Out(1),
                f"{name}ready": In(1),
            }

        super().__init__(
            {
                **address_channel("aw"),
                "wdata": Out(data),
                "wstrb": Out(data // 8),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bid": In(ids),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                **address_channel("ar"),
                "rid": In(ids),
                "rdata": In(data),
                "rresp": In(2),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )
