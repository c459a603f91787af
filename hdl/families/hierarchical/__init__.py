"""Networks of networks (Dandamudi and Eager)."""
