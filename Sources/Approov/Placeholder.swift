enum ApproovPlaceholder {}
