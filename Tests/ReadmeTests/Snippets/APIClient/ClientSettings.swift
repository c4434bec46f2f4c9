import APIClient

func localized(_ client: APIClient, language: String) throws -> APIClient {
    var client = try client.configured { rules in
        try rules.configure("**", description: "the user's language") { $0.headers["Accept-Language"] = language }
        try rules.configure("reports/**", description: "slow reports") { $0.timeout = .seconds(300) }
    }
    client.timeout = .seconds(20)
    return client
}
