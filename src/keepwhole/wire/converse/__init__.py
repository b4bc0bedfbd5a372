"""Amazon Bedrock's Converse and ConverseStream."""
