import Instrumentation
import Synchronization
import Tracing

/// Records the attributes of a span as a real tracer does, writes `traceparent`, and drops the span at its end, so that no export is
/// measured.
struct SilentTracer: Tracer {
    static let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> SilentSpan {
        SilentSpan(context: context(), name: operationName, start: instant().nanosecondsSinceEpoch)
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject.Carrier == Carrier {
        injector.inject(Self.traceparent, forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier {}
}

/// A span that keeps its attributes until it ends.
final class SilentSpan: Span {
    private struct State {
        var name: String
        var attributes = SpanAttributes()
        var end: UInt64?
    }

    let context: ServiceContext
    private let start: UInt64
    private let state: Mutex<State>

    init(context: ServiceContext, name: String, start: UInt64) {
        self.context = context
        self.start = start
        state = Mutex(State(name: name))
    }

    var isRecording: Bool { state.withLock { $0.end == nil } }

    var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    func setStatus(_ status: SpanStatus) {}
    func addEvent(_ event: SpanEvent) {}
    func recordError<Instant: TracerInstant>(_ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant) {}
    func addLink(_ link: SpanLink) {}

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let now = instant().nanosecondsSinceEpoch
        state.withLock { $0.end = now }
    }
}
