@_exported public import ApproovAuthority
@_exported public import ApproovGateway
@_exported public import ApproovTokenCheck
