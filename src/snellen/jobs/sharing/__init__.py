"""Work that is shared: tickets, and this process, others or a cluster, which run them."""
