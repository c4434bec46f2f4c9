import Approov
import Foundation
import HTTPClient
import HTTPRecording

func recordingSession(service: ApproovService) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.transport = try RecordingTransport(wrapping: CurlTransport(), into: URL(filePath: "recordings"))
    return try ApproovSession(service: service, configuration: configuration)
}

func replayingSession() throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.transport = try ReplayTransport(from: URL(filePath: "recordings"))
    return try ApproovSession(service: nil, configuration: configuration)
}
