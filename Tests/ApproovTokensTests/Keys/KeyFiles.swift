/// Keys that no library here would make.
///
/// They are nobody's.
enum KeyFiles {
    static let encrypted = [
        """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAga9cA99S8t4wICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEECA+oirt0QWbNqWV39JNjrEEgZCi
        LqwtB1Yb0nEyvxEEljCQ4GZsAxAstjHUqVfuWeo1A0iUxcQTs8IByM3GJ8h0CpCD
        PkXOEGgC8awYvwDFhpm1qaPRiLZj27zGuSHl2A4cXcUXeIpZN33cpH+kCyjw73JN
        ITjkflQQzEb8CU19Ax2b7AKIFGOOMuZWL6LdePRD0IH1CdL+fSCPHspcxsTcr+Y=
        -----END ENCRYPTED PRIVATE KEY-----
        """,
        """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,F9F060440B2DFD6DD9437C243DFC9223

        dtXWJuCLfO3FA9DEfPjYKBUuFKrBmPgJqzdAuejnGG4JE3KA3KKSqSuvMVm2WcGr
        QhmwNd9PL3/u4uT+Nca8UEGvCMaPXiytPKr0/kDT2+6BMNcl7gF/PXGBuQC1ZF3U
        CjY4x9HYYIYwR7m1pnlzk60UOmUF65yFb5fRAOpSyV8=
        -----END EC PRIVATE KEY-----
        """,
    ]
    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIIk0PPyDOYe0pmkLzz7EyvYbbLlOi7fOsYVxKO7ndaUc
        -----END PRIVATE KEY-----
        """
    /// As long as a P-256 key, on another curve.
    static let secp256k1 = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg2USiLFOC4CHJWWtQKv00
        QRyk3Zg5cAwIl+SSxkJNdq6hRANCAARFjI348cjC0fnCiU4VfaKWZPjE3X8Z8ngG
        5wdb5f9ff0FTXZElISxJ98PkWDunkr/NcWq2RELPvozPB+cEVnAV
        -----END PRIVATE KEY-----
        """
    static let publicSecp256k1 = """
        -----BEGIN PUBLIC KEY-----
        MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAERYyN+PHIwtH5wolOFX2ilmT4xN1/GfJ4
        BucHW+X/X39BU12RJSEsSffD5Fg7p5K/zXFqtkRCz76MzwfnBFZwFQ==
        -----END PUBLIC KEY-----
        """
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBAMaGH4PgkVNPfl8y
        4e1qv1ahzylmV2moIenVwVNuN1OFYWL5GD17GeUOF2HSBtXxTc75yvFH/fXad01C
        u8zAntUg//+9Wau6esk6jkI4B9ZCt87B6X2cKVxgUfBiFKIIFFrQYmHOZ62EvlyS
        Xc0CRR05GGwjJOmPHhnDN8YnIGGVAgMBAAECgYAQvgj0X0ECTKb0sl7ZXfJLBRRq
        gmYG1BYgGVXXimkCEzKWXTmNHc+eQKT6K/NFobcVKH3UAWVKkaUUD/e0md4LJ0n1
        KdeindGsUcOQOBotLCy51rfyQPnzZRFKzz5CzkYMeO2ethRrswUSbGWdxGRj5AmS
        peQ0MklRvfVECbkM9QJBAO7ALwhqYNXz2pcFNMFrkDGHyvcojB7b+JIAQ/RJdeqH
        JPYmn57H2U8asYcUCqzjsiFCIOSxBSAlZVo4lePdxusCQQDU3eyZejm75Ijble4H
        YeZzSz/MtYEIYtFkxk7jTKELN2UNObDggcdb6J1/XAA2zaaLtBRV5YGpH4SY19F/
        GVl/AkAeIZUN+9byyY7Jxnds/bU5+whLfwuIDXzmeDAbUXYXPi0U/7TfZhtv10+W
        W5opTac6eU0Lb6fU8cNDyqZoFqI3AkAYD73e22ILSxntOFVfoEFcZvUfPqUHPaRN
        r9za9J5/lhNmG09TEVhnmzOyYcPkbfqVcBWcYAT4CQgD/uE/bK4hAkA1b1MwWugN
        KAnyrl9MNdm5MLcMySjkR93wdByc46Vg9aTceP/2qalD+GPRdoOI3rbKOT5WMyyl
        qqFHGfiJ2sej
        -----END PRIVATE KEY-----
        """
    static let publicRSA1024 = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDGhh+D4JFTT35fMuHtar9Woc8p
        ZldpqCHp1cFTbjdThWFi+Rg9exnlDhdh0gbV8U3O+crxR/312ndNQrvMwJ7VIP//
        vVmrunrJOo5COAfWQrfOwel9nClcYFHwYhSiCBRa0GJhzmethL5ckl3NAkUdORhs
        IyTpjx4ZwzfGJyBhlQIDAQAB
        -----END PUBLIC KEY-----
        """
}
