@_exported public import HTTPClient
