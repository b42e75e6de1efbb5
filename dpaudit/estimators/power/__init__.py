"""Forecasts of what the best possible attack can show, by estimator; a real attack shows less."""
