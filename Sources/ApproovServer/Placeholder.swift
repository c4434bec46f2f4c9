enum ApproovServerPlaceholder {}
