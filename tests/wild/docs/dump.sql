-- a dump
SET NAMES x; DEFAULT CHARSET=latin1;
INSERT INTO fees VALUES ('港口的收费合同自二零二六年一月一日起施行');
