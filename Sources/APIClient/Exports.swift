// The shape of errors, and the methods of requests, are part of this module's interface.
@_exported public import ApproovBase
@_exported public import HTTPTypes
