"""Charts and heat maps, described once for page, print and tracker."""
