public import Approov
public import CertificatePinning
public import Foundation
internal import HTTPClient

/// One place where an API can be called, such as staging, production or recorded responses.
///
/// ```swift
/// let staging = try APIEnvironment.named("staging", from: URL(filePath: "approov-environments.json"))
/// let api = try EnvironmentSession(staging, stateDirectory: ApproovService.defaultStateDirectory())
/// let items = try await api.client.get("items", as: [Item].self)
/// ```
///
/// An environment decides whom the app trusts. Choose it in code: let no environment variable and no argument of a released program choose
/// it.
public struct APIEnvironment: Sendable {
    /// Where the responses come from.
    public enum Source: Sendable {
        /// From the hosts that the URLs name.
        ///
        /// With a configuration the session attests, with tokens and pins of that account; without one it does neither.
        case remote(configuration: ApproovConfiguration?)
        /// From the folder of a recording, which an `HTTPRecording.RecordingTransport` wrote.
        case local(recordings: URL)
    }

    /// What a server must prove.
    ///
    /// The pins of the account's protected hosts hold in any case.
    public enum Trust: String, Sendable, CaseIterable {
        /// Every host must be protected by the account, or have ``APIEnvironment/pins``.
        case pinned
        /// A host without pins needs a valid certificate for its name.
        case pathValidation
        /// The base URL's host may have any certificate, unless the account protects it.
        ///
        /// Anyone on the network can then read and change what is sent. Only debug builds of this package accept it.
        case dangerouslyDisabled
    }

    /// The name: 1 to 64 letters, digits, `-`, `_` and `.` from ASCII, not beginning with a dot.
    public let name: String
    /// The URL below which the API is: https, or http for this machine.
    public let baseURL: URL
    /// Where the responses come from.
    public let source: Source
    /// What a server must prove; by default pins.
    public let trust: Trust
    /// The pins of the base URL's host; needed where the account does not protect it and ``trust`` is ``Trust/pinned``.
    public let pins: Set<Pin>
    /// The certificate for servers of the base URL's host that ask for one; nil for none.
    ///
    /// ``presenting(_:)`` sets it.
    public internal(set) var clientIdentity: ClientIdentity?

    /// Describes an environment.
    ///
    /// - Parameters:
    ///   - name: The name, which becomes the name of its state's folder.
    ///   - baseURL: The URL below which the API is, without query and fragment.
    ///   - source: Where the responses come from.
    ///   - trust: What a server must prove.
    ///   - pins: The pins of the base URL's host.
    /// - Throws: ``APIError`` with code `invalidEnvironment`, which names the environment, when the name or the URL breaks these rules, or
    ///   with ``Trust/dangerouslyDisabled`` in a release build of this package.
    public init(_ name: String, baseURL: URL, source: Source, trust: Trust = .pinned, pins: Set<Pin> = []) throws {
        guard Self.isValid(name: name) else {
            throw APIError(
                .invalidEnvironment, "an environment's name has 1 to 64 letters, digits, \"-\", \"_\" and \".\", and begins with no dot")
        }
        do {
            let url = try TransportURL(baseURL)
            guard url.isSecure || url.host.isLoopback else {
                throw APIError(.invalidEnvironment, "the environment \(name) has a base URL with http: use https")
            }
            guard baseURL.query() == nil, baseURL.fragment() == nil else {
                throw APIError(.invalidEnvironment, "the environment \(name) has a base URL with a query or fragment: remove it")
            }
        } catch let error as TransportError {
            throw APIError(.invalidEnvironment, "the environment \(name) has no base URL that can be requested", cause: error)
        }
        if trust == .dangerouslyDisabled, !Self.isDebugBuild {
            throw APIError(
                .invalidEnvironment,
                "the environment \(name) sets trust to dangerouslyDisabled, which only debug builds accept: use pathValidation or pinned")
        }
        self.name = name
        self.baseURL = baseURL
        self.source = source
        self.trust = trust
        self.pins = pins
    }

    private static func isValid(name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
                default: false
                }
            }
    }

    static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }
}
