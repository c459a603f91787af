// $about
// For SystemVerilog: the functions of $name.h, with flits as the bits of a link.
// A refused call leaves tag and bits as they are: so they are inout.
import "DPI-C" function chandle mc_create();
import "DPI-C" function chandle mc_copy(input chandle network);
import "DPI-C" function void mc_destroy(input chandle network);
import "DPI-C" function int mc_reset(input chandle network);
import "DPI-C" function int mc_tag(input int source, input int sink, inout longint unsigned tag);
import "DPI-C" function int mc_busy(input chandle network, input int source);
import "DPI-C" function int mc_offer_bits(
  input chandle network, input int source, input bit [$last:0] bits);
import "DPI-C" function int mc_step(input chandle network, input longint unsigned cycles);
import "DPI-C" function int mc_take_bits(
  input chandle network, input int sink, inout bit [$last:0] bits);
import "DPI-C" function longint unsigned mc_cycle(input chandle network);
import "DPI-C" function string mc_text(input int code);
