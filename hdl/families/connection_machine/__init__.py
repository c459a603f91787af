"""The router of the Connection Machine: inject, route, buffer, refer, deliver (Stanfill, 4.2).

Refer is Stanfill's word for deflection routing. The router can also combine messages that have the
same destination.
"""
