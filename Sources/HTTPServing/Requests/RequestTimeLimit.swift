package import NIOCore

/// Lets a request's handler set an earlier end of the request than the listener's limit, ``ListenerLimits/requestTimeout``.
package struct RequestTimeLimit: Sendable {
    private let channel: RequestChannel?

    /// Makes the limit of a request.
    ///
    /// - Parameter channel: The channel in the request's context.
    package init(_ channel: any Channel) { self.channel = channel as? RequestChannel }

    /// Sets when the request must be over; the listener then closes its connection or stream, and cancels its task.
    ///
    /// - Parameter deadline: The time.
    package func set(_ deadline: ContinuousClock.Instant) {
        channel?.mustEnd(by: .now() + TimeAmount(ContinuousClock.now.duration(to: deadline)))
    }
}
