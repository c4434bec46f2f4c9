enum ApproovTestingPlaceholder {}
