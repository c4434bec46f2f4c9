// Sessions, interceptors, the clock and the shape of errors are part of this module's interface.
@_exported public import Approov
