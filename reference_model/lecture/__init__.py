"""`python -m reference_model.lecture`: the tables and plots of L2 and D3, made anew."""
