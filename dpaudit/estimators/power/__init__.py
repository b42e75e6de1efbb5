"""Forecasts of what an audit can show, by estimator.

All of it is for the best attack that there can be: a score whose errors lie on the true
mechanism's trade-off curve, and a threshold that is best for it. A real attack shows less.
"""
