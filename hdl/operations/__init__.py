"""Operations on values: on words of memory, and on messages that meet in the network."""
