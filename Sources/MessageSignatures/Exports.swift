// The shape of errors and the clock are part of this module's interface.
@_exported public import ApproovBase
