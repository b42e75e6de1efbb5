"""Networks, recipes and DP-SGD for many models behind one function."""
