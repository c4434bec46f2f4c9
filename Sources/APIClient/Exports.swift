// The shape of errors is part of this module's interface.
@_exported public import ApproovBase
