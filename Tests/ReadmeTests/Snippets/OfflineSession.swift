import Approov
import Foundation
import HTTPClient
import HTTPRecording

func recordedSession(into folder: URL, service: ApproovService?) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.transport = try RecordingTransport(wrapping: CurlTransport(), into: folder)
    configuration.bindHeader = "Authorization"
    return try ApproovSession(service: service, configuration: configuration)
}

func offlineSession(from folder: URL) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.transport = try ReplayTransport(from: folder)
    return try ApproovSession(service: nil, configuration: configuration)
}
