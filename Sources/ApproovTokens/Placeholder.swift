enum ApproovTokensPlaceholder {}
