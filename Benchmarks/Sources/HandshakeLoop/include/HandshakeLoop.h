#pragma once

/// Makes TLS 1.3 handshakes with OpenSSL in memory: certificate verified, no session resumed.
/// Chain, key and root are PEM. Returns the nanoseconds that the client's half of one takes on average; negative when one fails.
double handshake_client_nanoseconds(const char *_Nonnull chain, const char *_Nonnull key, const char *_Nonnull root,
                                    const char *_Nonnull host, int count);

/// Encodes the key of every certificate of a PEM text, as pins need it. Returns the nanoseconds for all of them; negative on failure.
double handshake_encode_keys_nanoseconds(const char *_Nonnull chain, int count);
