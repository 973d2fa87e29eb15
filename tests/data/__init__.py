"""Tests of spoonful.data, and what they share."""
