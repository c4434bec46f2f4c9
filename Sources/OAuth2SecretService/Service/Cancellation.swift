internal import CLibSecret

/// Ends the calls of one operation.
///
/// `@unchecked`: the pointer never changes, and GLib lets any thread cancel and ask a cancellable.
final class Cancellation: @unchecked Sendable {
    private let cancellable: UnsafeMutablePointer<GCancellable>

    init() { cancellable = g_cancellable_new() }

    deinit { g_object_unref(cancellable) }

    func cancel() { g_cancellable_cancel(cancellable) }

    /// Lends the cancellable to a call.
    func lend<Value>(
        _ body: (UnsafeMutablePointer<GCancellable>) throws(SecretServiceFailure) -> Value
    ) throws(SecretServiceFailure) -> Value {
        try withExtendedLifetime(self) { () throws(SecretServiceFailure) in try body(cancellable) }
    }
}
