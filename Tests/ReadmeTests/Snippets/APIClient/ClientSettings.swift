import APIClient

func localized(_ client: APIClient, language: String) throws -> APIClient {
    try client.configured { rules in
        try rules.configure("**", description: "the user's language") { $0.headers["Accept-Language"] = language }
        try rules.configure("**", description: "usual requests") { $0.timeout = .seconds(20) }
        try rules.configure("reports/**", description: "slow reports") { $0.timeout = .seconds(300) }
    }
}
