// Tokens, their keys and the protocol of stores are part of this module's interface.
@_exported public import OAuth2
