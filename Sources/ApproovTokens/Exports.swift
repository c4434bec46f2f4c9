// This module's interface uses the clock and the error protocol of ApproovBase.
@_exported public import ApproovBase
