// ApproovBase's clock and error protocol are part of this module's interface.
@_exported public import ApproovBase
