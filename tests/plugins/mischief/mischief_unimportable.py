"""A plug-in for another machine than this one."""

raise OSError("libmischief.so: cannot open\nshared object file")
