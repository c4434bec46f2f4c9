/// The public names of Approov's own SDK and tools: service layer, statuses, signatures, release 3.8, and command line; and those of
/// Siesta, Conduit and CKNetworking.
enum OriginalNames {
    static let all: [String] = [
        service, hooks, statuses, signatures, newer, claims, commands, siesta, conduit, ckNetworking,
    ].flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }

    private static let service = """
        initialize reinit isInitialized isApproovEnabled getLastARC setDevKey setApproovHeader setApproovTraceIDHeader
        getApproovTraceIDHeader setBindingHeader setServiceMutator getServiceMutator setUseApproovStatusIfNoToken setLoggingLevel
        setApproovInterceptorExtensions getApproovInterceptorExtensions addSubstitutionHeader removeSubstitutionHeader
        addSubstitutionQueryParam removeSubstitutionQueryParam addExclusionURLRegex removeExclusionURLRegex getExclusionURLRegex
        prefetch precheck precheck-dummy-key getDeviceID setDataHashInToken fetchToken getMessageSignature getAccountMessageSignature
        getInstallMessageSignature fetchSecureString fetchCustomJWT updateRequestWithApproov setInstallAttrsInToken
        getIntegrityMeasurementProof getDeviceMeasurementProof measurementConfig getInstallPublicKey getPins getPinsJSON fetchConfig
        isConfigChanged isForceApplyPins traceID loggableToken setUserProperty updateConfig setProceedOnNetworkFailure
        setProceedOnNetworkFail ApproovURLSession WebSocket bypass Approov-Token Approov-TraceID initializationError configurationError
        pinningError networkingError permanentError rejectionError ShouldProceed ShouldRetry ShouldFail ShouldIgnore
        """

    private static let hooks = """
        ApproovServiceMutator ApproovRequestMutations handlePrecheckResult handleFetchTokenResult handleFetchSecureStringResult
        handleFetchCustomJWTResult handleInterceptorShouldProcessRequest handleInterceptorFetchTokenResult
        handleInterceptorHeaderSubstitutionResult handleInterceptorQueryParamSubstitutionResult handleInterceptorProcessedRequest
        handlePinningShouldProcessRequest
        """

    private static let statuses = """
        SUCCESS NO_NETWORK MITM_DETECTED UNTRUSTED_NETWORK POOR_NETWORK NO_APPROOV_SERVICE BAD_URL UNKNOWN_URL UNPROTECTED_URL
        NOT_INITIALIZED REJECTED DISABLED UNKNOWN_KEY BAD_KEY BAD_PAYLOAD INTERNAL_ERROR
        """

    private static let signatures = """
        SignatureParametersFactory generateDefaultSignatureParametersFactory setBodyDigestConfig hostFactories install account
        ecdsa-p256-sha256 hmac-sha256 @method @target-uri approov-token approov-traceid authorization content-length content-type
        content-digest alg created expires keyid nonce tag Signature-Input Signature Signature-Base-Digest Content-Digest
        """

    private static let newer = """
        Approov-Status CLOSE_FAILURE ALWAYS_PROCEED REQUIRE_ATTESTATION placeholder stale redirects
        """

    private static let claims = "exp iat did ip arc pay anno jti ipk mskid iss aud sub embed JWE"

    private static let commands = """
        api -noApproovToken -keySetKID -jwe -check appattest appsigncert customjwt device always-pass devicecheck filter forcefail
        forcepass init keyset -keyLength -getPEM -setJWKSURI metrics monitoring password pin -setManagedTrustRoots playintegrity policy
        -setRejectionReasons -setInstallPubKey -setAudience -setIssuer -setSubject registration role safetynet sdk -getConfig
        -getConfigString -getLibrary -libraryID -bitcodeAdd secret -get -change -forcePrintable -messageSigningKey secstrings support
        token -genExample -showArcInfoCurl users web whoami APPROOV_MANAGEMENT_TOKEN APPROOV_ROLE
        """

    private static let siesta = """
        Service resource relative child configure invalidateConfiguration authHeader wipeResources matching decorateRequests mutateRequests
        failedRequest RequestError NetworkingProvider TrustKit addObserver latestData
        """

    private static let conduit = """
        URLSessionClient delegateQueue requestMiddleware responseMiddleware RequestPipelineMiddleware ResponsePipelineMiddleware
        prepareForTransport TaskResponse begin SessionTaskProxy pipelineBehaviorOptions awaitsOutgoingCompletion HTTPRequestBuilder
        queryStringParameters percentEncodedQuery queryStringFormattingOptions arrayFormat dictionaryFormat plusSymbolEncodingRule
        spaceEncodingRule
        JSONRequestSerializer FormEncodedRequestSerializer MultipartFormRequestSerializer FormPart XMLRequestSerializer
        AutoPurgingURLDataCache DataDownloader
        XMLResponseDeserializer XML XMLNode SOAPEnvelopeFactory JSONResponseDeserializer ServerAuthenticationPolicy
        serverAuthenticationPolicies SSLPinningServerAuthenticationPolicy CertificateBundle OAuth2ServerEnvironment
        OAuth2ClientConfiguration defaultClientConfiguration defaultTokenStore OAuth2Authorization OAuth2PasswordTokenGrantStrategy
        OAuth2ClientCredentialsTokenGrantStrategy OAuth2AuthorizationCodeTokenGrantStrategy OAuth2RefreshTokenGrantStrategy
        OAuth2ExtensionTokenGrantStrategy issueToken OAuth2AuthorizationStrategy OAuth2AuthorizationRequest
        OAuth2SafariAuthorizationStrategy OAuth2AuthorizationRedirectHandler OAuth2TokenKeychainStore OAuth2TokenFileStore
        OAuth2TokenUserDefaultsStore OAuth2TokenDiskStore OAuth2TokenMemoryStore AES256CBCCipher HybridCipher PBKDF2Derivator Migrator
        TokenMigrator OAuth2RequestPipelineMiddleware OAuth2RefreshStrategyFactory tokenRefreshLockRelinquishInterval
        AwaitNetworkConnectivityRequestPipelineMiddleware NetworkReachability hostName ImageDownloader AutoPurgingURLImageCache
        ConduitLogger
        """

    private static let ckNetworking = """
        NetworkingClient SecurityPolicy AuthenticationCredential getUserToken allowInvalidCertificates validatesDomainName logLevels
        perRequestHeaders additionalHeaders responseValidator NetworkingError jsonPayload storeResponseFilesInCacheDirectory
        DemoURLProtocol APIService Endpoint useSSLPinning AnyPublisher
        """
}
