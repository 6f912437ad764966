"""One secret of each form that is known, made up, and texts that only look like one."""

from typing import Final

_HEX: Final = "0123456789abcdef" * 4
_MIXED: Final = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3vW5xY7z"

FORMS: Final = {
    "AWS access key": f"AKIA{_HEX.upper()[:16]}",
    "AWS temporary key": f"ASIA{_HEX.upper()[:16]}",
    "Google API key": f"AIza{_MIXED[:35]}",
    "Google OAuth token": f"ya29.{_MIXED}",
    "Google client secret": f"GOCSPX-{_MIXED[:28]}",
    "Azure SAS": f"https://shop.blob.core.windows.net/c?sv=2024&sig={_MIXED[:40]}%3D",
    "Azure storage": f"AccountName=shop;AccountKey={_MIXED}==;",
    "DigitalOcean": f"dop_v1_{_HEX}",
    "Databricks": f"dapi{_HEX[:32]}",
    "Vault": f"hvs.{_MIXED[:24]}",
    "GitHub": f"ghp_{_MIXED[:36]}",
    "GitHub fine-grained": f"github_pat_{_MIXED[:22]}_{_MIXED[:59]}",
    "GitLab": f"glpat-{_MIXED[:20]}",
    "Atlassian": f"ATATT3xFfGF0{_MIXED}",
    "npm": f"npm_{_MIXED[:36]}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{_MIXED}",
    "Docker Hub": f"dckr_pat_{_MIXED[:27]}",
    "OpenAI": f"sk-proj-{_MIXED[:48]}",
    "Anthropic": f"sk-ant-api03-{_MIXED}",
    "Hugging Face": f"hf_{_MIXED[:34]}",
    "Groq": f"gsk_{_MIXED[:52]}",
    "Replicate": f"r8_{_MIXED[:37]}",
    "Slack bot": f"xoxb-123456789012-123456789012-{_MIXED[:24]}",
    "Slack app": f"xapp-1-A0123-123456-{_HEX}",
    "Slack webhook": f"https://hooks.slack.com/services/T01234567/B01234567/{_MIXED[:24]}",
    "Discord": f"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{_MIXED[:27]}",
    "Telegram": f"123456789:AA{_MIXED[:33]}",
    "Stripe": f"sk_live_{_MIXED[:24]}",
    "Stripe webhook": f"whsec_{_MIXED[:32]}",
    "Square": f"sq0csp-{_MIXED[:43]}",
    "Shopify": f"shpat_{_HEX[:32]}",
    "Twilio": f"SK{_HEX[:32]}",
    "SendGrid": f"SG.{_MIXED[:22]}.{_MIXED[:43]}",
    "Mailgun": f"key-{_HEX[:32]}",
    "Mailchimp": f"{_HEX[:32]}-us21",
    "Airtable": f"pat{_MIXED[:14]}.{_HEX}",
    "Notion": f"ntn_{_MIXED[:46]}",
    "Grafana": f"glsa_{_MIXED[:32]}_{_HEX[:8]}",
    "JWT": f"eyJhbGciOiJIUzI1NiJ9.eyJ{_MIXED[:30]}.{_MIXED[:43]}",
    "PEM": f"-----BEGIN EC PRIVATE KEY-----\nMIIE{_MIXED}\n{_MIXED}=\n-----END EC PRIVATE KEY-----",
    "URL with a password": f"postgres://shop:{_MIXED[:20]}@db.example.org/orders",
    "header": f"Authorization: Bearer {_MIXED[:40]}",
    "PEM with headers": f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{_MIXED}\n"
    "-----END RSA PRIVATE KEY-----",
    "PGP": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{_MIXED}\n=ab\n"
    "-----END PGP PRIVATE KEY BLOCK-----",
    "URL with a password of every sign": f"redis://shop:p@/{_MIXED[:20]}@cache:6379",
    "another scheme": f"Authorization: Token {_MIXED[:40]}",
    "GitLab feed": f"glft-{_MIXED[:20]}",
    "GitLab agent": f"glagent-{_MIXED[:50]}",
    "GitLab mail": f"glimt-{_MIXED[:25]}",
    "GitLab flags": f"glffct-{_MIXED[:20]}",
    "GitLab routable": f"glpat-{_MIXED[:27]}.01.0w1{_MIXED[:6].lower()}",
    "GitLab runner": f"GR1348941{_MIXED[:20]}",
    "Slack cookie": f"xoxd-{_MIXED[:60]}",
    "Gemini API key": f"AQ.Ab8{_MIXED[:44]}",
    "Google refresh token": f"1//0{_MIXED[:60]}",
    "Azure DevOps": f"{_MIXED[:52]}JQQJ99{'A' * 14}ASAZDO4fQ9",
    "Cloudflare": f"v1.0-{_HEX[:24]}-{_HEX * 2}",
    "Netlify": f"nfp_{_MIXED[:36]}",
    "Voyage": f"pa-{_MIXED[:43]}",
    "Fireworks": f"fw_{_MIXED[:24]}",
    "E2B": f"e2b_{_HEX[:40]}",
    "Adyen": f"AQE{_MIXED}-{_MIXED}",
    "Braintree": f"access_token$production$abc${_HEX[:32]}",
    "PayPal": f"A21AA{_MIXED}{_MIXED}",
    "Tailscale": f"tskey-auth-{_MIXED[:30]}",
    "Doppler": f"dp.st.prd.{_MIXED[:40]}",
    "Terraform": f"{_MIXED[:14]}.atlasv1.{_MIXED[:60]}",
    "Azure client secret": f"abc8Q~{_MIXED[:34]}",
    "Brevo": f"xkeysib-{_HEX}-{_MIXED[:16]}",
    "Vercel": f"vcp_{_MIXED[:40]}",
    "Discord webhook": f"https://discord.com/api/webhooks/123456789012345678/{_MIXED}",
    "Teams webhook": f"https://a.webhook.office.com/webhookb2/7-a@b/IncomingWebhook/{_HEX[:32]}/c",
    "AWS signature": f"https://b.s3.amazonaws.com/k?X-Amz-Signature={_HEX}",
    "our own": f"hp_{_MIXED[:43]}",
}
"""A name, and the text."""

HARMLESS: Final = (
    "sk-learn and hp_printer_settings, a key-value store, SKELETON",
    "the order 4111111111111111 of 2026-11-26T22:41:55Z, https://example.org:8080/a@b",
    "max_tokens=512, card_id: 7, input_tokens=3, token_count: 9, author: Ann, keys: 4, spin: 2",
    "c0ffee00-1234-5678-9abc-def012345678.lookup.1, pinned: yes, basic needs",
    "pass: true, all tests pass: green, tokens: 512, tokens_used=9, card_color: red, key: value",
    "required are 'password', 'user'; secret-management-tool, https://a.org/webhooks/get-started",
    "pattern AT 09:30, SG. Dynamo, a path eyJ, ya29",
)


def secret_in(text: str) -> str:
    """The part of a form that must not be seen."""
    for shown in ("sig=", "AccountKey=", "services/", "shop:", "Bearer ", "Token ", "p@/"):
        text = text.partition(shown)[2] or text
    return max(text.partition("@")[0].splitlines(), key=len)[-20:].strip(";=%3D")
