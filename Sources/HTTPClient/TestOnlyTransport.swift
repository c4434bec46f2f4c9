/// Marks a transport whose responses do not come from the hosts that the URLs name, such as one that replays recordings.
///
/// Such a transport validates no certificate. A session that attests refuses it, so that a token never depends on an unproven host.
public protocol TestOnlyTransport: HTTPTransport {}
