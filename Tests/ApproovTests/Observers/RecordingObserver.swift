import Approov
import ApproovTesting

/// Records what it sees.
struct RecordingObserver: SessionObserver {
    var shownHeaders: Set<String> = []
    var wantsTimings = true
    var wantsHeads = true
    let requests = Shared<[RequestSummary]>([])
    let responses = Shared<[ResponseSummary]>([])
    let finished = Shared<[CallMetrics]>([])
    let failures = Shared<[CallFailure]>([])
    let dropped = Shared<[Int]>([])
    /// The kinds of events in order.
    let events = Shared<[String]>([])

    func willSend(_ request: RequestSummary) {
        requests.change { $0.append(request) }
        events.change { $0.append("send \(request.attempt).\(request.redirect)") }
    }

    func didReceive(_ response: ResponseSummary) {
        responses.change { $0.append(response) }
        events.change { $0.append("receive \(response.status)") }
    }

    func didFinish(_ metrics: CallMetrics) {
        finished.change { $0.append(metrics) }
        events.change { $0.append("finish") }
    }

    func didFail(_ failure: CallFailure) {
        failures.change { $0.append(failure) }
        events.change { $0.append("fail\(failure.willRetry ? ", retry" : "")") }
    }

    func didDrop(_ count: Int) { dropped.change { $0.append(count) } }

    /// Waits until this number of calls are over.
    func calls(_ count: Int) async -> Bool {
        await eventually { finished.value.count + failures.value.filter { !$0.willRetry }.count == count }
    }
}
